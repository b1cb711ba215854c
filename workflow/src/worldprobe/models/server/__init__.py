"""Models behind an OpenAI-compatible server, and what others must know of it, without asyncio."""

#: Environment variable with the key of a server.
KEY_VARIABLE = "OPENAI_API_KEY"
#: Hosts that are this machine.
LOOPBACK = ("127.0.0.1", "localhost", "::1")
