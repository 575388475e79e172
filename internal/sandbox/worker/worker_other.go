// Systems without isolation: starting a worker returns ErrUnavailable.

//go:build !linux

package worker

import (
	"context"
	"runtime"
)

// Init has no effect on this system.
func Init() {}

func initialized() bool { return true }

// Left returns 0 on this system.
func Left() (int64, error) { return 0, nil }

func makeSpare() {}

type process struct {
	window []byte
	level  Level
}

func start(_ context.Context, cfg *config) (*process, error) {
	return nil, &Error{Op: "start", Service: cfg.Service, Err: ErrUnavailable, Detail: "not on " + runtime.GOOS}
}

func (p *process) send(context.Context, []byte) error {
	panic("worker: no process was started")
}

func (p *process) receive(context.Context) ([]byte, error) {
	panic("worker: no process was started")
}

func (p *process) kill() {}
