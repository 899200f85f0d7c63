package redfish

import (
	"net/http"
	"strconv"
)

// task is work that was accepted and shows its end at a monitor.
type task struct {
	id    string
	polls int // answers "running" still to give
	work  func() reply
	done  bool
	end   reply
}

// perform does work at once, or makes a task of it where the BMC is like that.
func (b *BMC) perform(work func() reply) reply {
	if b.cfg.Quirks.AsyncTasks == 0 {
		return work()
	}
	return b.accept(b.cfg.Quirks.AsyncTasks, work)
}

// accept answers 202 with the monitor of a new task.
func (b *BMC) accept(polls int, work func() reply) reply {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &task{id: strconv.Itoa(len(b.tasks) + 1), polls: polls, work: work}
	b.tasks[t.id] = t
	monitor := root + "/TaskService/Monitors/" + t.id
	if b.cfg.Quirks.TaskInBody {
		body := t.doc()
		body["TaskMonitor"] = monitor
		return reply{status: http.StatusAccepted, body: body}
	}
	return reply{status: http.StatusAccepted, header: map[string]string{"Location": monitor}}
}

func (t *task) doc() doc {
	state := "Running"
	if t.done {
		state = "Completed"
		if t.end.status >= 400 {
			state = "Exception"
		}
	}
	return doc{
		"@odata.id": root + "/TaskService/Tasks/" + t.id, "@odata.type": "#Task.v1_7_0.Task",
		"Id": t.id, "Name": "Task " + t.id, "TaskState": state, "TaskStatus": "OK", "PercentComplete": percent(t.done),
	}
}

func percent(done bool) int {
	if done {
		return 100
	}
	return 50
}

func showTask(b *BMC, r request) reply {
	t := b.poll(r.PathValue("id"))
	if t == nil {
		return notFound(r.URL.Path)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return ok(t.doc())
}

func monitorTask(b *BMC, r request) reply {
	t := b.poll(r.PathValue("id"))
	if t == nil {
		return notFound(r.URL.Path)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !t.done {
		return reply{status: http.StatusAccepted, header: map[string]string{"Location": r.URL.Path}}
	}
	if t.end.status == http.StatusNoContent {
		return ok(t.doc())
	}
	return t.end
}

// poll counts one look at a task; the last one does its work.
func (b *BMC) poll(id string) *task {
	b.mu.Lock()
	t := b.tasks[id]
	if t == nil || t.work == nil {
		b.mu.Unlock()
		return t
	}
	if t.polls > 0 {
		t.polls--
		b.mu.Unlock()
		return t
	}
	work := t.work
	t.work = nil // taken: nobody does it twice
	b.mu.Unlock()
	end := work()
	b.mu.Lock()
	defer b.mu.Unlock()
	t.done, t.end = true, end
	return t
}
