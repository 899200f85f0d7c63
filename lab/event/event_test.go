package event_test

import (
	"context"
	"errors"
	"testing"

	"ferrule/lab/event"
)

func TestWaitSeesWhatWasAndWhatComes(t *testing.T) {
	var l event.Log
	l.Add(event.Heartbeat)
	l.Add(event.PowerChanged, "power", "On")
	e, err := l.Wait(t.Context(), 0, event.Is(event.PowerChanged, "power", "On"))
	if err != nil || e.Seq != 2 {
		t.Fatalf("what was: %v, %v", e, err)
	}
	got := make(chan event.Event)
	go func() {
		e, _ := l.Wait(context.Background(), e.Seq, event.Is(event.PowerChanged))
		got <- e
	}()
	l.Add(event.Heartbeat)
	l.Add(event.PowerChanged, "power", "Off")
	if e := <-got; e.Detail["power"] != "Off" {
		t.Errorf("what comes: %v", e)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Wait(ended, l.Last(), event.Is(event.Booted)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
}

func TestOldEventsAreDropped(t *testing.T) {
	var l event.Log
	for range 3 * event.Kept {
		l.Add(event.Heartbeat)
	}
	events, _ := l.Since(0)
	if len(events) > event.Kept || len(events) < event.Kept/2 || events[len(events)-1].Seq != 3*event.Kept {
		t.Errorf("%d events kept", len(events))
	}
}
