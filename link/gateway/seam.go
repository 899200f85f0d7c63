package gateway

import (
	"context"
	"slices"
	"time"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/trust"
)

// Agent is what the register knows of an agent that has joined.
type Agent struct {
	Name trust.AgentName
	Keys []string // hashes of its keys in force, oldest first
}

// Joining is an attempt to join.
type Joining struct {
	SecretHash string // trust.JoinSecretHash of what was sent
	KeyHash    string // of the key to be certified: the agent's first in force
	NewID      string // the id to give to an agent that is new
	Hello      link.Hello
	At         time.Time
}

// Agents is the register of agents and join codes.
type Agents interface {
	// Join spends the code with this hash, in one transaction, and is the agent
	// made by it; the key is then in force. A code spent before by the same key
	// gives the same agent again, as long as that key is still in force. One
	// that is unknown, expired or spent otherwise is refused with
	// metal.Forbidden.
	Join(ctx context.Context, joining Joining) (trust.AgentName, error)
	// Agent is the agent with this id; metal.NotFound where it never was or has
	// been removed.
	Agent(ctx context.Context, id string) (Agent, error)
	// AddKey puts another key in force beside those that are.
	AddKey(ctx context.Context, agentID, keyHash string) error
	// RetireKeysBefore ends those that were added before this one.
	RetireKeysBefore(ctx context.Context, agentID, keyHash string) error
}

// Sessions hears of agents that come and go: they are conductors to clients.
type Sessions interface {
	// SessionOpened says that the agent is on line; a session that it had
	// before is over.
	SessionOpened(ctx context.Context, agent trust.AgentName, sessionID string, hello link.Hello) error
	// SessionClosed says that the session is over. It means nothing where the
	// agent has another one by now.
	SessionClosed(ctx context.Context, agentID, sessionID string) error
}

// Commands is where commands come from.
type Commands interface {
	// DeliverCommands are the agent's commands that are not done and come after
	// the cursor, at most limit, in the order of Seq. It numbers commands that
	// have no Seq yet, in the order in which they become visible, so that a
	// cursor passes none by.
	DeliverCommands(ctx context.Context, agentID string, afterSeq int64, limit int) ([]metal.CommandRecord, error)
	// Subscribe gives a channel that is readable after a command for the agent
	// was committed, until stop is called. It may miss some: there is a poll.
	Subscribe(agentID string) (wake <-chan struct{}, stop func())
}

// Results takes what agents attest.
type Results interface {
	// SaveResult stores the result of a command of this agent, with the
	// envelope that proves it, and lets the node go on. A result that is there
	// already is no error; metal.NotFound where the agent has no such command.
	SaveResult(ctx context.Context, agentID string, result metal.CommandResult, envelope string) error
}

// SecretRequests is what the release of secrets asks for and remembers; see
// trust.Releases.
type SecretRequests interface {
	Command(ctx context.Context, id string) (metal.CommandRecord, error)
	UseRequestID(ctx context.Context, agentID, requestID string, until time.Time) (bool, error)
}

// Observations takes what agents saw unasked. Those of nodes that are not the
// agent's are the implementer's to drop.
type Observations interface {
	Observed(ctx context.Context, agent trust.AgentName, seen []link.Observation) error
}

// releases completes SecretRequests with the register's knowledge.
type releases struct {
	SecretRequests
	agents Agents
}

// KeyInForce implements trust.Releases.
func (r releases) KeyInForce(ctx context.Context, agentID, keyHash string) (bool, error) {
	agent, err := r.agents.Agent(ctx, agentID)
	if metal.ReasonOf(err) == metal.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.Contains(agent.Keys, keyHash), nil
}
