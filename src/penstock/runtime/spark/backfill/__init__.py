"""From history to live: stores, offsets and clocks of an application that begins behind history."""
