"""Readings: which maps from what a network sees to values fit the labels of training."""
