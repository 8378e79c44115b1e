"""What passes between a client and a service: how JSON is walked, and secrets are masked."""
