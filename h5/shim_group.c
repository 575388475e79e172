/* shim_group.c: creating, opening and describing groups. */
#include "shim_internal.h"

int goh5_gopen(goh5_err_t *err, int64_t loc, const char *name, int64_t *id)
{
    int rc = 0;
    goh5_enter();
    hid_t group = H5Gopen2(loc, name, H5P_DEFAULT);
    TRY(group >= 0);
    *id = group;
done:
    return rc;
}

/* Words of the group creation options. They must match group.go. */
typedef struct group_spec {
    uint64_t link_order; /* H5P_CRT_ORDER_… */
    uint64_t link_phase; /* whether the next two numbers are set */
    uint64_t max_compact;
    uint64_t min_dense;
    uint64_t estimated; /* whether the next two numbers are set */
    uint64_t est_links;
    uint64_t est_name_len;
    uint64_t heap_hint;
    uint64_t attr_order;
    uint64_t attr_phase; /* whether the next two numbers are set */
    uint64_t attr_max_compact;
    uint64_t attr_min_dense;
    uint64_t times;
    uint64_t deflate; /* level + 1, or 0 */
    uint64_t fletcher32;
} group_spec_t;

_Static_assert(sizeof(group_spec_t) == GOH5_GROUP_WORDS * sizeof(uint64_t), "group.go has as many words");

static int make_gcpl(goh5_err_t *err, const group_spec_t *s, hid_t *gcpl)
{
    int rc = 0;
    hid_t made = H5Pcreate(H5P_GROUP_CREATE);
    TRY(made >= 0);
    TRY(H5Pset_link_creation_order(made, (unsigned)s->link_order) >= 0);
    TRY(H5Pset_attr_creation_order(made, (unsigned)s->attr_order) >= 0);
    TRY(H5Pset_obj_track_times(made, s->times != 0) >= 0);
    if (s->link_phase) {
        TRY(H5Pset_link_phase_change(made, (unsigned)s->max_compact, (unsigned)s->min_dense) >= 0);
    }
    if (s->attr_phase) {
        TRY(H5Pset_attr_phase_change(made, (unsigned)s->attr_max_compact, (unsigned)s->attr_min_dense) >= 0);
    }
    if (s->estimated) {
        TRY(H5Pset_est_link_info(made, (unsigned)s->est_links, (unsigned)s->est_name_len) >= 0);
    }
    if (s->heap_hint) {
        TRY(H5Pset_local_heap_size_hint(made, s->heap_hint) >= 0);
    }
    if (s->deflate) {
        TRY(H5Pset_deflate(made, (unsigned)s->deflate - 1) >= 0);
    }
    if (s->fletcher32) {
        TRY(H5Pset_fletcher32(made) >= 0);
    }
    *gcpl = made;
    return 0;
done:
    goh5_close_plist(made);
    return rc;
}

int goh5_gcreate(goh5_err_t *err, int64_t loc, const char *name, int32_t utf8, const uint64_t *spec, int64_t *id)
{
    int rc = 0;
    hid_t lcpl = H5I_INVALID_HID, gcpl = H5I_INVALID_HID, group = H5I_INVALID_HID;
    goh5_enter();
    PASS(make_gcpl(err, (const group_spec_t *)(const void *)spec, &gcpl));
    if (name == NULL) {
        group = H5Gcreate_anon(loc, gcpl, H5P_DEFAULT);
    } else {
        PASS(goh5_link_plist(err, utf8, &lcpl));
        group = H5Gcreate2(loc, name, lcpl, gcpl, H5P_DEFAULT);
    }
    TRY(group >= 0);
    *id = group;
done:
    goh5_close_plist(gcpl);
    goh5_close_plist(lcpl);
    return rc;
}

static int read_gcpl(goh5_err_t *err, hid_t gcpl, group_spec_t *s)
{
    int rc = 0;
    unsigned link_order, attr_order, max_compact, min_dense, est_links, est_name_len, attr_max_compact, attr_min_dense;
    size_t hint;
    TRY(H5Pget_link_creation_order(gcpl, &link_order) >= 0);
    TRY(H5Pget_attr_creation_order(gcpl, &attr_order) >= 0);
    TRY(H5Pget_link_phase_change(gcpl, &max_compact, &min_dense) >= 0);
    TRY(H5Pget_attr_phase_change(gcpl, &attr_max_compact, &attr_min_dense) >= 0);
    TRY(H5Pget_est_link_info(gcpl, &est_links, &est_name_len) >= 0);
    TRY(H5Pget_local_heap_size_hint(gcpl, &hint) >= 0);
    *s = (group_spec_t){.link_order = link_order,
                        .link_phase = 1,
                        .max_compact = max_compact,
                        .min_dense = min_dense,
                        .estimated = 1,
                        .est_links = est_links,
                        .est_name_len = est_name_len,
                        .heap_hint = hint,
                        .attr_order = attr_order,
                        .attr_phase = 1,
                        .attr_max_compact = attr_max_compact,
                        .attr_min_dense = attr_min_dense};
    int n = H5Pget_nfilters(gcpl);
    TRY(n >= 0);
    for (unsigned i = 0; i < (unsigned)n; i++) {
        unsigned flags, config, level = 0;
        size_t values = 1;
        H5Z_filter_t filter = H5Pget_filter2(gcpl, i, &flags, &values, &level, 0, NULL, &config);
        TRY(filter >= 0);
        s->fletcher32 |= filter == H5Z_FILTER_FLETCHER32;
        s->deflate = filter == H5Z_FILTER_DEFLATE ? level + 1 : s->deflate;
    }
done:
    return rc;
}

int goh5_ginfo(goh5_err_t *err, int64_t loc, const char *name, uint64_t out[4], uint64_t *spec)
{
    int rc = 0;
    H5G_info_t info;
    H5O_info2_t object;
    hid_t gcpl = H5I_INVALID_HID;
    goh5_enter();
    hid_t group = H5Gopen2(loc, name, H5P_DEFAULT);
    TRY(group >= 0);
    TRY(H5Gget_info(group, &info) >= 0);
    TRY((gcpl = H5Gget_create_plist(group)) >= 0);
    PASS(read_gcpl(err, gcpl, (group_spec_t *)(void *)spec));
    /* The property list always reports times for object headers of version 1, which store no times
     * for groups. */
    TRY(H5Oget_info3(group, &object, H5O_INFO_TIME) >= 0);
    ((group_spec_t *)(void *)spec)->times = object.ctime != 0;
    out[0] = (uint64_t)(int64_t)info.storage_type;
    out[1] = info.nlinks;
    out[2] = (uint64_t)info.max_corder;
    out[3] = info.mounted;
done:
    goh5_close_plist(gcpl);
    goh5_close_group(group);
    return rc;
}
