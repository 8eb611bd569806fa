"""An AI provider that speaks the OpenAI protocol: chat, embeddings, models, limits, errors."""
