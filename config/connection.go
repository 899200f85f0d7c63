package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Engine is a database engine of the store.
type Engine string

// The engines.
const (
	SQLite     Engine = "sqlite"
	PostgreSQL Engine = "postgresql"
)

// Connection says where the store's database is.
type Connection struct {
	Engine Engine
	// Path is SQLite's file; ":memory:" for none.
	Path string
	// URL is PostgreSQL's. It may hold a password: never log it.
	URL string
}

// isMySQL says whether [database] connection names Ironic's own kind of
// database, which Ferrule neither reads nor writes.
func (c *Config) isMySQL() bool {
	return strings.HasPrefix(c.Database.Connection, "mysql") || strings.HasPrefix(c.Database.Connection, "mariadb")
}

// NamesDatabase says whether a database was named that Ferrule can use.
func (c *Config) NamesDatabase() bool {
	return c.Store.Connection != "" || c.Database.Connection != "" && !c.isMySQL()
}

// StoreConnection is [store] connection, or Ironic's [database] connection
// where that is all there is, or a SQLite file in the data folder.
func (c *Config) StoreConnection() (Connection, error) {
	option, text := "[store] connection", c.Store.Connection
	if text == "" && !c.isMySQL() {
		option, text = "[database] connection", c.Database.Connection
	}
	if text == "" {
		return Connection{Engine: SQLite, Path: filepath.Join(c.Store.DataDir, "ferrule.sqlite")}, nil
	}
	connection, err := parseConnection(text)
	if err != nil {
		return Connection{}, fmt.Errorf("%s: %w", option, err)
	}
	return connection, nil
}

// parseConnection reads a URL as SQLAlchemy does: the scheme may name a Python
// driver after a plus sign, sqlite:///x is relative and sqlite:////x absolute.
// Errors do not quote it, since it may hold a password.
func parseConnection(text string) (Connection, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Connection{}, errors.New("must be a URL such as sqlite:///file or postgresql://user@host/name")
	}
	engine, _, _ := strings.Cut(scheme, "+")
	switch engine {
	case "sqlite":
		path, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "?")
		if path == "" {
			path = ":memory:"
		}
		return Connection{Engine: SQLite, Path: path}, nil
	case "postgresql", "postgres":
		plain := "postgresql://" + rest
		if _, err := url.Parse(plain); err != nil {
			return Connection{}, errors.New("is not a valid URL")
		}
		return Connection{Engine: PostgreSQL, URL: plain}, nil
	case "mysql", "mariadb":
		return Connection{}, errors.New("MySQL and MariaDB are not supported: use sqlite:///file or postgresql://user@host/name")
	}
	return Connection{}, fmt.Errorf("database %q is not supported: use sqlite or postgresql", engine)
}
