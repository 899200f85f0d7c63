package main

import "ferrule/cmd/internal/site"

type agentCommand struct{ site.Command }
