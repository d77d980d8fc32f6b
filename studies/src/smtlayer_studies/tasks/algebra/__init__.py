"""Visual algebra: a handwritten equation in one unknown, with its solution as the only label."""
