/* crash.h: ends the process with a message and its own exit code if a C library crashes. */
#ifndef HYPERSLAB_CRASH_H
#define HYPERSLAB_CRASH_H

#include <stdint.h>

/* The use of libhdf5 by this process: not yet, now, or idle. */
enum { HYPERSLAB_UNUSED = 0, HYPERSLAB_INSIDE = 1, HYPERSLAB_IDLE = 2 };

/* hyperslab_hdf5 is one of these values. Go writes it under the lock of libhdf5. */
extern volatile int32_t hyperslab_hdf5;

/* hyperslab_crash_text sets the beginning and the end of the message. Longer text is truncated. */
void hyperslab_crash_text(const char *begin, const char *end);

/* hyperslab_catch_crashes handles the signals of a crash outside of [first, last), the code in Go:
 * it writes the message to standard error and ends the process with the code. Other signals go to
 * the handlers of Go. It does nothing on systems that have no such signals. */
void hyperslab_catch_crashes(uintptr_t first, uintptr_t last, int code);

#endif
