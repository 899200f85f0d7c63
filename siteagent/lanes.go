package siteagent

import "sync"

// lanes run jobs: those of one key one after the other, in the order in which
// they came, and those of different keys beside each other. So a BMC gets one
// command at a time, and one that does not answer holds up nobody else.
type lanes struct {
	places chan struct{} // bounds the jobs under way

	mu      sync.Mutex
	waiting map[string][]func() // an entry, maybe empty, for each key at work
	stopped bool
	done    sync.WaitGroup
}

func newLanes(most int) *lanes {
	return &lanes{places: make(chan struct{}, most), waiting: map[string][]func(){}}
}

// add queues a job. After stop it is dropped.
func (l *lanes) add(key string, job func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	_, busy := l.waiting[key]
	l.waiting[key] = append(l.waiting[key], job)
	if !busy {
		l.done.Go(func() { l.drain(key) })
	}
}

// try runs a job at once, unless its key is at work: then it reports false.
// The job takes no place of the bounded ones.
func (l *lanes) try(key string, job func()) bool {
	l.mu.Lock()
	if _, busy := l.waiting[key]; busy || l.stopped {
		l.mu.Unlock()
		return false
	}
	l.waiting[key] = nil
	l.done.Add(1)
	l.mu.Unlock()
	defer l.done.Done()
	job()
	l.done.Go(func() { l.drain(key) }) // what has come meanwhile
	return true
}

// drain runs the key's jobs until none is left.
func (l *lanes) drain(key string) {
	for {
		l.places <- struct{}{}
		job, ok := l.next(key)
		if ok {
			job()
		}
		<-l.places
		if !ok {
			return
		}
	}
}

func (l *lanes) next(key string) (func(), bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.waiting[key]
	if len(queue) == 0 || l.stopped {
		delete(l.waiting, key)
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
