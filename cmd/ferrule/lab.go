package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"ferrule/lab"
	"ferrule/lab/ramdisk"
)

type labCommand struct {
	Servers  int           `help:"How many servers." default:"3"`
	Data     string        `help:"Folder for disks and media." default:"ferrule-lab" placeholder:"DIR"`
	BMCBase  string        `help:"Address of the first BMC; the others count up." default:"127.0.100.1"`
	BMCPort  int           `help:"Port of every BMC; 0 takes a free one each." default:"0"`
	Control  string        `help:"Where the lab's own API listens." default:"127.0.0.1:6399" placeholder:"HOST:PORT"`
	Images   string        `help:"Where images are served." default:"127.0.0.1:6398" placeholder:"HOST:PORT"`
	Seed     uint64        `help:"Chooses the content of the images." default:"1"`
	StepTime time.Duration `help:"How long each step of cleaning and deployment takes." default:"0s"`
	Delay    time.Duration `help:"How long a change of power takes to happen." default:"0s" name:"power-delay"`
	Beat     time.Duration `help:"Least time between two heartbeats of a ramdisk." default:"100ms"`
}

// Run emulates servers until it is told to stop.
func (l labCommand) Run(ctx context.Context) error {
	dir, err := filepath.Abs(l.Data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return lab.Run(ctx, lab.RunConfig{
		Config: lab.Config{
			Servers: l.Servers, Dir: dir, BMCBase: l.BMCBase, BMCPort: l.BMCPort, StepDelay: l.StepTime, ActionDelay: l.Delay,
			Timing: ramdisk.Timing{HeartbeatDistance: l.Beat, RetryAfterError: l.Beat},
		},
		Control: l.Control, Images: l.Images, ImageSeed: l.Seed,
	}, os.Stdout)
}
