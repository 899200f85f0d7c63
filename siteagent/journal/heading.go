package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// version is the layout of the file.
const version = 1

// issueSkew is by how much the control plane's clock, which dates commands, may
// be ahead of the agent's.
const issueSkew = 5 * time.Minute

// errDamaged is a file that is no journal, or no longer.
var errDamaged = errors.New("the journal is damaged")

// heading is the first line of the file. An empty file is therefore never a
// journal, but one that was lost.
type heading struct {
	Journal int `json:"journal"`
	// ForgotBefore is until when commands may have been begun that the file does
	// not know, because it replaces one that was lost.
	ForgotBefore *time.Time `json:"forgotBefore,omitempty"`
}

func (j *Journal) readHeading(from *bufio.Reader) error {
	line, err := from.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%w: it has no first line", errDamaged)
	}
	if err := json.Unmarshal(line, &j.heading); err != nil || j.heading.Journal != version {
		return fmt.Errorf("%w: its first line is not a journal's", errDamaged)
	}
	j.size = int64(len(line))
	return nil
}

// Forgot reports whether a command that the journal does not know, and that was
// issued at that time, may nevertheless have been begun.
func (j *Journal) Forgot(issuedAt time.Time) bool {
	return j.heading.ForgotBefore != nil && issuedAt.Before(*j.heading.ForgotBefore)
}
