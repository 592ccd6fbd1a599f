"""What a running application shows: metrics, metadata, traces, and answers over HTTP."""
