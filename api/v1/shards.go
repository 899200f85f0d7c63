package v1

import (
	"net/http"
	"strconv"
)

// listShards counts nodes by shard; those without one go under "None".
func (s *Service) listShards(c *call) error {
	shards, err := s.store.Shards(c.Request().Context())
	if err != nil {
		return err
	}
	b := append(make([]byte, 0, 256), `{"shards":[`...)
	for i := range shards {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"name":`...), orNone(shards[i].Name))
		b = strconv.AppendInt(append(b, `,"count":`...), shards[i].Count, 10)
		b = append(b, '}')
	}
	return c.json(http.StatusOK, append(b, "]}"...))
}
