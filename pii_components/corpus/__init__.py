"""Texts to train on: essays and chats with slots, invented people to fill them, noise, cleaning and splits."""
