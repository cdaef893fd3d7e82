"""The vault: one encrypted file that leads from released texts back to the originals. Imported when asked for, like its library."""

from .vault import Entry, Hidden, Release, Vault, VaultKey, reidentify, vault_kind

__all__ = ["Entry", "Hidden", "Release", "Vault", "VaultKey", "reidentify", "vault_kind"]
