"""How servers are reached over HTTP: addresses, proxies, certificates, and the transports behind httpx2's interface."""
