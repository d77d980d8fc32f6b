"""The translation of finite theories to clauses."""
