"""The embedder that the settings ask for."""

from __future__ import annotations

from bythebook.embedding.embedder import Embedder
from bythebook.settings import Settings


def make_embedder(settings: Settings) -> Embedder:
    """Nothing is loaded or contacted before the first text, but a missing key is told at once."""
    # Imported here because each brings a heavy library that the other choices do without.
    if settings.embedder == "openai":
        from bythebook.embedding.openai import OpenAIEmbedder

        return OpenAIEmbedder.from_settings(settings)
    if settings.embedder == "cohere":
        from bythebook.embedding.cohere import CohereEmbedder

        return CohereEmbedder.from_settings(settings)
    from bythebook.embedding.ahead import begun
    from bythebook.embedding.minilm import MiniLM

    return MiniLM(threads=settings.embedding_threads, ahead=begun())
