package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ferrule/config"
)

type configCommand struct {
	List  configList  `cmd:"" help:"Every option with its default and meaning."`
	Check configCheck `cmd:"" help:"Say which options of a file are honoured, which have no meaning here and why, and which are unknown."`
}

type configList struct{}

// Run prints the options.
func (configList) Run() error { return config.List(os.Stdout) }

type configCheck struct {
	File string `arg:"" help:"A configuration file in Ironic's format."`
}

// Run prints the findings; unknown options are an error.
func (c configCheck) Run() error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	return config.Check(f, c.File, os.Stdout)
}

type migrateCommand struct{ sources }

// Run migrates the database.
func (m migrateCommand) Run(ctx context.Context) error {
	cfg, err := m.load()
	if err != nil {
		return err
	}
	s, err := openStore(ctx, cfg, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		return err
	}
	fmt.Println("the database has this version's schema")
	return nil
}

// dsn is the store's form of the configured connection.
func dsn(cfg *config.Config) (string, error) {
	c, err := cfg.StoreConnection()
	if err != nil || c.Engine != config.SQLite {
		return c.URL, err
	}
	path, err := sqlitePath(c)
	return "sqlite://" + path, err
}

// sqlitePath is where the database file is; nothing here lives in memory.
func sqlitePath(c config.Connection) (string, error) {
	if c.Path == ":memory:" {
		return "", errors.New("the database would be in memory and gone at the next start: name a file, as in sqlite:///ferrule.sqlite")
	}
	return filepath.Abs(c.Path)
}
