package worker

// RawClient sends bytes to a service, without the typed requests of Client.
type RawClient = transport

// RawHandler answers requests of bytes.
type RawHandler = rawHandler

// RegisterRaw registers a service that answers bytes.
func RegisterRaw(name string, begin func(*Session) (RawHandler, error)) { register(name, begin) }

// NewRawClient returns a client of the service.
func NewRawClient(service string, cfg Config) (*RawClient, error) {
	return newTransport(config{Config: cfg, Service: service})
}

// EncodeError and DecodeError convert the error of a call.
var (
	EncodeError = encodeError
	DecodeError = decodeError
)
