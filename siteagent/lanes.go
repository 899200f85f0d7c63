package siteagent

import (
	"context"
	"sync"

	"ferrule/metal"
	"ferrule/siteagent/places"
)

// lane is a line of jobs that run one after the other.
type lane struct {
	key   string
	files bool // its jobs build files; they are no concern of a BMC
}

// lanes run jobs: those of one lane one after the other, in the order in which
// they came, and those of different lanes beside each other. So a BMC gets one
// command at a time, and one that does not answer holds up nobody else.
type lanes struct {
	machines *places.Places // of jobs that wait for a BMC or a ramdisk
	files    *places.Places // of jobs that build files
	silences *silences

	mu      sync.Mutex
	waiting map[string][]func() // an entry, maybe empty, for each key at work
	stopped bool
	done    sync.WaitGroup
}

func newLanes(machines, files *places.Places) *lanes {
	return &lanes{machines: machines, files: files, silences: newSilences(), waiting: map[string][]func(){}}
}

// add queues a job. After stop it is dropped.
func (l *lanes) add(to lane, job func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	_, busy := l.waiting[to.key]
	l.waiting[to.key] = append(l.waiting[to.key], job)
	if !busy {
		l.done.Go(func() { l.drain(to) })
	}
}

// try runs a job at once, unless its lane is at work: then it reports false.
// The job takes no place.
func (l *lanes) try(to lane, job func()) bool {
	l.mu.Lock()
	if _, busy := l.waiting[to.key]; busy || l.stopped {
		l.mu.Unlock()
		return false
	}
	l.waiting[to.key] = nil
	l.done.Add(1)
	l.mu.Unlock()
	defer l.done.Done()
	job()
	l.done.Go(func() { l.drain(to) }) // what has come meanwhile
	return true
}

// drain runs the lane's jobs until none is left.
func (l *lanes) drain(to lane) {
	pool := l.machines
	if to.files {
		pool = l.files
	}
	for l.more(to.key) {
		// No context is needed: places come free as the jobs under way end, and
		// stop drops those that have not begun.
		pool.Run(context.Background(), l.silences.silent(to.key), func() {
			if job, ok := l.next(to.key); ok {
				job()
			}
		})
	}
}

// more reports whether the lane has jobs, and ends its work if not.
func (l *lanes) more(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting[key]) == 0 || l.stopped {
		delete(l.waiting, key)
		return false
	}
	return true
}

func (l *lanes) next(key string) (func(), bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.waiting[key]
	if len(queue) == 0 || l.stopped {
		return nil, false
	}
	l.waiting[key] = queue[1:]
	return queue[0], true
}

// stop drops the jobs that have not begun.
func (l *lanes) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// wait returns when no job is under way.
func (l *lanes) wait() { l.done.Wait() }

// silences count how often in a row each machine did not answer.
type silences struct {
	mu     sync.Mutex
	counts map[string]int // by lane; none for a machine that answered last
}

func newSilences() *silences { return &silences{counts: map[string]int{}} }

// manySilences are as many as make a machine a silent one.
const manySilences = 2

// note takes the code of what a machine was last asked: "" where it was done.
func (s *silences) note(key string, code metal.ErrorCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch code {
	case metal.CodeUnreachable:
		s.counts[key]++
	case metal.CodeCredentialsUnavailable, metal.CodeInvalidPayload, metal.CodeInvalidConfig, metal.CodeOutcomeUnknown:
		// These are the agent's own words: the machine was not asked, or may not
		// have been.
	default:
		delete(s.counts, key)
	}
}

// silent reports whether the machine did not answer again and again.
func (s *silences) silent(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[key] >= manySilences
}
