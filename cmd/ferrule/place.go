package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ferrule/config"
	"ferrule/link/client"
	"ferrule/trust"
)

// recordFile says, in the data folder, which deployment's database belongs to it.
const recordFile = "deployment.json"

// place is where the parts of this deployment lie. A SQLite file that is lost is
// refused here, before an empty one is made in its place.
func (p *plane) place() (trust.Place, error) {
	place := trust.Place{
		Key:      p.cfg.Trust.DeploymentKeyFile,
		Record:   filepath.Join(p.cfg.Store.DataDir, recordFile),
		Identity: client.IdentityPath(p.cfg.SiteAgent.DataDir),
		Database: "the PostgreSQL database",
	}
	where, err := p.cfg.StoreConnection()
	if err != nil || where.Engine != config.SQLite {
		return place, err
	}
	path, err := sqlitePath(where)
	if err != nil {
		return place, err
	}
	place.Database = "the database " + path
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Size() > 0:
		return place, nil
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return place, place.CheckNew()
	}
	return place, fmt.Errorf("look at the database: %w", err)
}
