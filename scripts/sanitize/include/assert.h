/* assert.h: in the place of the system's for the sanitized libraries. The product has no assertions (-DNDEBUG), so
 * what stands behind one that fails must be seen too: it is reported as UndefinedBehaviorSanitizer reports, in the
 * same log, once for each place, and the program goes on. The report is that of an index outside an array whose type
 * is called "assertion ..." (the runtime's __ubsan_handle_out_of_bounds and its data: compiler-rt, ubsan_handlers.h);
 * scripts/sanitize/main.go puts it into words. */
#undef assert

#ifndef HYPERSLAB_ASSERT_H
#define HYPERSLAB_ASSERT_H

struct hyperslab_place {
    const char *file;
    unsigned line, column;
};

extern void __ubsan_handle_out_of_bounds(void *data, void *index);

#define static_assert _Static_assert

#endif

#define assert(e)                                                                                                      \
    ((e) ? (void)0 : __extension__({                                                                                   \
        static struct {                                                                                                \
            unsigned short kind, info;                                                                                 \
            char name[sizeof("'assertion " #e "'")];                                                                   \
        } hyperslab_type = {0xffff, 0, "'assertion " #e "'"};                                                          \
        static struct {                                                                                                \
            unsigned short kind, info;                                                                                 \
            char name[1];                                                                                              \
        } hyperslab_index = {0, 5 << 1, ""};                                                                           \
        static struct {                                                                                                \
            struct hyperslab_place place;                                                                              \
            void *type, *index;                                                                                        \
        } hyperslab_data = {{__FILE__, __LINE__, 1}, &hyperslab_type, &hyperslab_index};                               \
        __ubsan_handle_out_of_bounds(&hyperslab_data, 0);                                                              \
    }))
