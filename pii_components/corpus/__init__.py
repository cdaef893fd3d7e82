"""Readers and writers of labelled text, the essays that ship, and what fills their slots."""
