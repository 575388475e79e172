/* shim_plist.c: decoding and encoding of property lists of files (access.go and creation.go). */
#include "shim_internal.h"

#include <string.h>

static double get_float(goh5_in_t *in)
{
    uint64_t word = goh5_get(in);
    double f;
    memcpy(&f, &word, sizeof f);
    return f;
}

static void put_float(goh5_buf_t *b, double f)
{
    uint64_t word;
    memcpy(&word, &f, sizeof word);
    goh5_put(b, word);
}

/* ---------- access ---------- */

static void get_cache(goh5_in_t *in, H5AC_cache_config_t *c)
{
    c->evictions_enabled = goh5_get(in) != 0;
    c->set_initial_size = goh5_get(in) != 0;
    c->initial_size = goh5_get(in);
    c->min_clean_fraction = get_float(in);
    c->max_size = goh5_get(in);
    c->min_size = goh5_get(in);
    c->epoch_length = (long)goh5_get(in);
    c->incr_mode = (enum H5C_cache_incr_mode)goh5_get(in);
    c->lower_hr_threshold = get_float(in);
    c->increment = get_float(in);
    c->apply_max_increment = goh5_get(in) != 0;
    c->max_increment = goh5_get(in);
    c->flash_incr_mode = (enum H5C_cache_flash_incr_mode)goh5_get(in);
    c->flash_multiple = get_float(in);
    c->flash_threshold = get_float(in);
    c->decr_mode = (enum H5C_cache_decr_mode)goh5_get(in);
    c->upper_hr_threshold = get_float(in);
    c->decrement = get_float(in);
    c->apply_max_decrement = goh5_get(in) != 0;
    c->max_decrement = goh5_get(in);
    c->epochs_before_eviction = (int)goh5_get(in);
    c->apply_empty_reserve = goh5_get(in) != 0;
    c->empty_reserve = get_float(in);
    c->dirty_bytes_threshold = goh5_get(in);
}

static void put_cache(goh5_buf_t *b, const H5AC_cache_config_t *c)
{
    goh5_put(b, c->evictions_enabled);
    goh5_put(b, c->set_initial_size);
    goh5_put(b, c->initial_size);
    put_float(b, c->min_clean_fraction);
    goh5_put(b, c->max_size);
    goh5_put(b, c->min_size);
    goh5_put(b, (uint64_t)c->epoch_length);
    goh5_put(b, c->incr_mode);
    put_float(b, c->lower_hr_threshold);
    put_float(b, c->increment);
    goh5_put(b, c->apply_max_increment);
    goh5_put(b, c->max_increment);
    goh5_put(b, c->flash_incr_mode);
    put_float(b, c->flash_multiple);
    put_float(b, c->flash_threshold);
    goh5_put(b, c->decr_mode);
    put_float(b, c->upper_hr_threshold);
    put_float(b, c->decrement);
    goh5_put(b, c->apply_max_decrement);
    goh5_put(b, c->max_decrement);
    goh5_put(b, (uint64_t)c->epochs_before_eviction);
    goh5_put(b, c->apply_empty_reserve);
    put_float(b, c->empty_reserve);
    goh5_put(b, c->dirty_bytes_threshold);
}

int goh5_mdc_put(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    TRY(H5Fget_mdc_config(file, &config) >= 0);
    put_cache(b, &config);
done:
    return rc;
}

int goh5_fset_mdc(goh5_err_t *err, int64_t id, const uint8_t *spec, size_t spec_len)
{
    int rc = 0;
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    goh5_in_t in = {spec, spec_len, 0};
    goh5_enter();
    TRY(H5Fget_mdc_config(id, &config) >= 0); /* keeps the trace fields, which the spec does not contain */
    get_cache(&in, &config);
    TRY(H5Fset_mdc_config(id, &config) >= 0);
done:
    return rc;
}

int goh5_fapl_get(goh5_err_t *err, goh5_in_t *in, hid_t *fapl)
{
    int rc = 0;
    H5AC_cache_config_t mdc = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hid_t made = H5Pcreate(H5P_FILE_ACCESS);
    TRY(made >= 0);
    /* libhdf5 opens the targets of external links and the sources of virtual datasets with
     * H5F_CLOSE_WEAK. Within a process a file cannot be opened with two different close degrees:
     * otherwise a source would be missing without an error. The package closes every id of a file
     * before the file, so no file stays open. H5F_CLOSE_STRONG would close ids that the package
     * still holds, and their numbers could be reused. */
    TRY(H5Pset_fclose_degree(made, H5F_CLOSE_WEAK) >= 0);
    PASS(goh5_driver_get(err, in, made));
    H5F_libver_t low = (H5F_libver_t)goh5_get(in);
    H5F_libver_t high = (H5F_libver_t)goh5_get(in);
    TRY(H5Pset_libver_bounds(made, low, high) >= 0);
    hbool_t use = goh5_get(in) != 0, ignore = goh5_get(in) != 0;
    TRY(H5Pset_file_locking(made, use, ignore) >= 0);
    hsize_t threshold = goh5_get(in), alignment = goh5_get(in);
    TRY(H5Pset_alignment(made, threshold, alignment) >= 0);
    TRY(H5Pset_meta_block_size(made, goh5_get(in)) >= 0);
    TRY(H5Pset_small_data_block_size(made, goh5_get(in)) >= 0);
    TRY(H5Pset_sieve_buf_size(made, goh5_get(in)) >= 0);
    size_t slots = goh5_get(in), bytes = goh5_get(in);
    TRY(H5Pset_cache(made, 0, slots, bytes, get_float(in)) >= 0);
    size_t page = goh5_get(in);
    unsigned meta = (unsigned)goh5_get(in), raw = (unsigned)goh5_get(in);
    TRY(H5Pset_page_buffer_size(made, page, meta, raw) >= 0);
    TRY(H5Pset_gc_references(made, goh5_get(in) != 0) >= 0);
    uint64_t relax = goh5_get(in);
    TRY(H5Pset_relax_file_integrity_checks(made, relax ? H5F_RFIC_ALL : 0) >= 0);
    TRY(H5Pset_evict_on_close(made, goh5_get(in) != 0) >= 0);
    unsigned attempts = (unsigned)goh5_get(in);
    if (attempts > 0) {
        TRY(H5Pset_metadata_read_attempts(made, attempts) >= 0);
    }
    TRY(H5Pset_elink_file_cache_size(made, (unsigned)goh5_get(in)) >= 0);
    if (goh5_get(in) != 0) {
        H5AC_cache_image_config_t image = {H5AC__CURR_CACHE_IMAGE_CONFIG_VERSION, 1, 0,
                                           H5AC__CACHE_IMAGE__ENTRY_AGEOUT__NONE};
        TRY(H5Pset_mdc_image_config(made, &image) >= 0);
    }
    uint64_t logged = goh5_get(in);
    const char *log = goh5_get_text(in);
    hbool_t start = goh5_get(in) != 0;
    if (logged) {
        TRY(H5Pset_mdc_log_options(made, 1, log, start) >= 0);
    }
    if (goh5_get(in) != 0) {
        TRY(H5Pget_mdc_config(made, &mdc) >= 0);
        get_cache(in, &mdc);
        TRY(H5Pset_mdc_config(made, &mdc) >= 0);
    }
    uint64_t has_image = goh5_get(in);
    size_t image_len = 0;
    const uint8_t *image = goh5_get_bytes(in, &image_len);
    if (has_image) {
        TRY(H5Pset_file_image(made, (void *)(uintptr_t)image, image_len) >= 0); /* libhdf5 copies it */
    }
    *fapl = made;
    made = H5I_INVALID_HID;
done:
    goh5_close_plist(made);
    return rc;
}

static int put_access(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    H5F_libver_t low, high;
    hbool_t use = 0, ignore = 0;
    hsize_t threshold, alignment, size;
    size_t slots, bytes, page;
    int unused;
    double preempt;
    unsigned meta, raw, attempts, efc, collect;
    uint64_t relax = 0;
    H5AC_cache_image_config_t image = {.version = H5AC__CURR_CACHE_IMAGE_CONFIG_VERSION};
    hid_t fapl = H5Fget_access_plist(file);
    TRY(fapl >= 0);
    PASS(goh5_driver_put(err, b, fapl));
    TRY(H5Pget_libver_bounds(fapl, &low, &high) >= 0);
    goh5_put(b, (uint64_t)low);
    goh5_put(b, (uint64_t)high);
    TRY(H5Pget_file_locking(fapl, &use, &ignore) >= 0);
    goh5_put(b, use);
    goh5_put(b, ignore);
    TRY(H5Pget_alignment(fapl, &threshold, &alignment) >= 0);
    goh5_put(b, threshold);
    goh5_put(b, alignment);
    TRY(H5Pget_meta_block_size(fapl, &size) >= 0);
    goh5_put(b, size);
    TRY(H5Pget_small_data_block_size(fapl, &size) >= 0);
    goh5_put(b, size);
    TRY(H5Pget_sieve_buf_size(fapl, &bytes) >= 0);
    goh5_put(b, bytes);
    TRY(H5Pget_cache(fapl, &unused, &slots, &bytes, &preempt) >= 0);
    goh5_put(b, slots);
    goh5_put(b, bytes);
    put_float(b, preempt);
    TRY(H5Pget_page_buffer_size(fapl, &page, &meta, &raw) >= 0);
    goh5_put(b, page);
    goh5_put(b, meta);
    goh5_put(b, raw);
    TRY(H5Pget_gc_references(fapl, &collect) >= 0);
    goh5_put(b, collect);
    TRY(H5Pget_relax_file_integrity_checks(fapl, &relax) >= 0);
    goh5_put(b, relax != 0);
    TRY(H5Pget_metadata_read_attempts(fapl, &attempts) >= 0);
    goh5_put(b, attempts);
    TRY(H5Pget_elink_file_cache_size(fapl, &efc) >= 0);
    goh5_put(b, efc);
    TRY(H5Pget_mdc_image_config(fapl, &image) >= 0);
    goh5_put(b, image.generate_image);
    PASS(goh5_mdc_put(err, b, file));
done:
    goh5_close_plist(fapl);
    return rc;
}

/* ---------- creation ---------- */

int goh5_fcpl_get(goh5_err_t *err, goh5_in_t *in, hid_t *fcpl)
{
    int rc = 0;
    hid_t made = H5Pcreate(H5P_FILE_CREATE);
    TRY(made >= 0);
    TRY(H5Pset_userblock(made, goh5_get(in)) >= 0);
    size_t offset = goh5_get(in), length = goh5_get(in);
    TRY(H5Pset_sizes(made, offset, length) >= 0);
    unsigned leaf = (unsigned)goh5_get(in), tree = (unsigned)goh5_get(in);
    TRY(H5Pset_sym_k(made, tree, leaf) >= 0);
    TRY(H5Pset_istore_k(made, (unsigned)goh5_get(in)) >= 0);
    H5F_fspace_strategy_t strategy = (H5F_fspace_strategy_t)goh5_get(in);
    hbool_t persist = goh5_get(in) != 0;
    TRY(H5Pset_file_space_strategy(made, strategy, persist, goh5_get(in)) >= 0);
    TRY(H5Pset_file_space_page_size(made, goh5_get(in)) >= 0);
    unsigned shared = (unsigned)goh5_get(in);
    TRY(H5Pset_shared_mesg_nindexes(made, shared) >= 0);
    for (unsigned i = 0; i < shared; i++) {
        unsigned types = (unsigned)goh5_get(in), min = (unsigned)goh5_get(in);
        TRY(H5Pset_shared_mesg_index(made, i, types, min) >= 0);
    }
    unsigned max = (unsigned)goh5_get(in), min = (unsigned)goh5_get(in);
    if (shared > 0) {
        TRY(H5Pset_shared_mesg_phase_change(made, max, min) >= 0);
    }
    max = (unsigned)goh5_get(in);
    min = (unsigned)goh5_get(in);
    TRY(H5Pset_link_phase_change(made, max, min) >= 0);
    TRY(H5Pset_link_creation_order(made, (unsigned)goh5_get(in)) >= 0);
    max = (unsigned)goh5_get(in);
    min = (unsigned)goh5_get(in);
    TRY(H5Pset_attr_phase_change(made, max, min) >= 0);
    TRY(H5Pset_attr_creation_order(made, (unsigned)goh5_get(in)) >= 0);
    TRY(H5Pset_obj_track_times(made, goh5_get(in) != 0) >= 0);
    *fcpl = made;
    made = H5I_INVALID_HID;
done:
    goh5_close_plist(made);
    return rc;
}

static int put_creation(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    hsize_t size;
    size_t offset, length;
    unsigned leaf, tree, n, types, min, max, flags;
    H5F_fspace_strategy_t strategy;
    hbool_t flag = 0;
    hid_t root = H5I_INVALID_HID, gcpl = H5I_INVALID_HID;
    hid_t fcpl = H5Fget_create_plist(file);
    TRY(fcpl >= 0);
    /* For an opened file, the file's list does not contain the options of the root group. Therefore
     * they are read from the list of the group. */
    TRY((root = H5Gopen2(file, "/", H5P_DEFAULT)) >= 0);
    TRY((gcpl = H5Gget_create_plist(root)) >= 0);
    TRY(H5Pget_userblock(fcpl, &size) >= 0);
    goh5_put(b, size);
    TRY(H5Pget_sizes(fcpl, &offset, &length) >= 0);
    goh5_put(b, offset);
    goh5_put(b, length);
    TRY(H5Pget_sym_k(fcpl, &tree, &leaf) >= 0);
    goh5_put(b, leaf);
    goh5_put(b, tree);
    TRY(H5Pget_istore_k(fcpl, &n) >= 0);
    goh5_put(b, n);
    TRY(H5Pget_file_space_strategy(fcpl, &strategy, &flag, &size) >= 0);
    goh5_put(b, (uint64_t)strategy);
    goh5_put(b, flag);
    goh5_put(b, size);
    TRY(H5Pget_file_space_page_size(fcpl, &size) >= 0);
    goh5_put(b, size);
    TRY(H5Pget_shared_mesg_nindexes(fcpl, &n) >= 0);
    goh5_put(b, n);
    for (unsigned i = 0; i < n; i++) {
        TRY(H5Pget_shared_mesg_index(fcpl, i, &types, &min) >= 0);
        goh5_put(b, types);
        goh5_put(b, min);
    }
    TRY(H5Pget_shared_mesg_phase_change(fcpl, &max, &min) >= 0);
    goh5_put(b, max);
    goh5_put(b, min);
    TRY(H5Pget_link_phase_change(gcpl, &max, &min) >= 0);
    goh5_put(b, max);
    goh5_put(b, min);
    TRY(H5Pget_link_creation_order(gcpl, &flags) >= 0);
    goh5_put(b, flags);
    TRY(H5Pget_attr_phase_change(gcpl, &max, &min) >= 0);
    goh5_put(b, max);
    goh5_put(b, min);
    TRY(H5Pget_attr_creation_order(gcpl, &flags) >= 0);
    goh5_put(b, flags);
    TRY(H5Pget_obj_track_times(gcpl, &flag) >= 0);
    goh5_put(b, flag);
done:
    if (root >= 0) {
        H5Gclose(root);
    }
    goh5_close_plist(gcpl);
    goh5_close_plist(fcpl);
    return rc;
}

/* ---------- queries ---------- */

static int put_facts(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    H5F_info2_t info;
    hsize_t size = 0, image_size = 0;
    haddr_t eoa = 0, image = HADDR_UNDEF;
    unsigned intent = 0;
    unsigned long number = 0;
    hbool_t minimize = 0, log_on = 0, logging = 0;
    TRY(H5Fget_info2(file, &info) >= 0);
    goh5_put(b, info.super.version);
    goh5_put(b, info.super.super_size);
    goh5_put(b, info.super.super_ext_size);
    goh5_put(b, info.free.version);
    goh5_put(b, info.free.meta_size);
    goh5_put(b, info.free.tot_space);
    goh5_put(b, info.sohm.version);
    goh5_put(b, info.sohm.hdr_size);
    goh5_put(b, info.sohm.msgs_info.index_size);
    goh5_put(b, info.sohm.msgs_info.heap_size);
    TRY(H5Fget_filesize(file, &size) >= 0);
    goh5_put(b, size);
    /* libhdf5 returns this only for drivers with SWMR support, and an error for others. */
    goh5_put(b, H5Fget_eoa(file, &eoa) >= 0 ? eoa : HADDR_UNDEF);
    hssize_t left = H5Fget_freespace(file);
    TRY(left >= 0);
    goh5_put(b, (uint64_t)left);
    TRY(H5Fget_intent(file, &intent) >= 0);
    goh5_put(b, intent & H5F_ACC_RDWR);
    goh5_put(b, intent & (H5F_ACC_SWMR_READ | H5F_ACC_SWMR_WRITE));
    TRY(H5Fget_fileno(file, &number) >= 0);
    goh5_put(b, number);
    static const unsigned kinds[] = {H5F_OBJ_FILE, H5F_OBJ_GROUP, H5F_OBJ_DATASET, H5F_OBJ_DATATYPE, H5F_OBJ_ATTR};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ssize_t n = H5Fget_obj_count(file, kinds[i]);
        TRY(n >= 0);
        goh5_put(b, (uint64_t)n);
    }
    TRY(H5Fget_dset_no_attrs_hint(file, &minimize) >= 0);
    goh5_put(b, minimize);
    TRY(H5Fget_mdc_logging_status(file, &log_on, &logging) >= 0);
    goh5_put(b, logging);
    TRY(H5Fget_mdc_image_info(file, &image, &image_size) >= 0);
    goh5_put(b, image);
    goh5_put(b, image_size);
done:
    return rc;
}

/* put_image flushes the file and encodes its bytes. */
static int put_image(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    uint8_t *image = NULL;
    TRY(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    ssize_t n = H5Fget_file_image(file, NULL, 0);
    TRY(n >= 0);
    if ((image = hyperslab_alloc((size_t)n)) == NULL) {
        RAISE(GOH5_ENOMEM);
    }
    n = H5Fget_file_image(file, image, (size_t)n);
    TRY(n >= 0);
    goh5_put_bytes(b, image, (size_t)n);
done:
    hyperslab_free(image);
    return rc;
}

static int put_cache_state(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    size_t max, clean, now;
    int entries;
    double rate;
    PASS(goh5_mdc_put(err, b, file));
    TRY(H5Fget_mdc_size(file, &max, &clean, &now, &entries) >= 0);
    goh5_put(b, max);
    goh5_put(b, clean);
    goh5_put(b, now);
    goh5_put(b, (uint64_t)entries);
    TRY(H5Fget_mdc_hit_rate(file, &rate) >= 0);
    put_float(b, rate);
done:
    return rc;
}

static int put_sections(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    H5F_sect_info_t *sections = NULL;
    ssize_t n = H5Fget_free_sections(file, H5FD_MEM_DEFAULT, 0, NULL);
    TRY(n >= 0);
    if (n > 0) {
        if ((sections = hyperslab_alloc((size_t)n * sizeof *sections)) == NULL) {
            RAISE(GOH5_ENOMEM);
        }
        ssize_t got = H5Fget_free_sections(file, H5FD_MEM_DEFAULT, (size_t)n, sections);
        TRY(got >= 0);
        n = got < n ? got : n;
    }
    goh5_put(b, (uint64_t)n);
    for (ssize_t i = 0; i < n; i++) {
        goh5_put(b, sections[i].addr);
        goh5_put(b, sections[i].size);
    }
done:
    hyperslab_free(sections);
    return rc;
}

static int put_pages(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    unsigned counts[5][2];
    TRY(H5Fget_page_buffering_stats(file, counts[0], counts[1], counts[2], counts[3], counts[4]) >= 0);
    for (size_t i = 0; i < 5; i++) {
        goh5_put(b, counts[i][0]);
        goh5_put(b, counts[i][1]);
    }
done:
    return rc;
}

static int put_retries(goh5_err_t *err, goh5_buf_t *b, hid_t file)
{
    int rc = 0;
    H5F_retry_info_t info = {0};
    TRY(H5Fget_metadata_read_retry_info(file, &info) >= 0);
    uint64_t total = 0;
    for (size_t i = 0; i < H5F_NUM_METADATA_READ_RETRY_TYPES; i++) {
        for (unsigned bin = 0; info.retries[i] != NULL && bin < info.nbins; bin++) {
            total += info.retries[i][bin];
        }
        H5free_memory(info.retries[i]);
    }
    goh5_put(b, total);
done:
    return rc;
}

int goh5_file_ask(goh5_err_t *err, int64_t id, int32_t what, goh5_blob_t *out)
{
    static int (*const ask[])(goh5_err_t *, goh5_buf_t *, hid_t) = {
        put_access, put_creation, put_facts, put_image, put_cache_state, put_sections, put_pages, put_retries,
    };
    int rc = 0;
    goh5_buf_t b = {0};
    goh5_enter();
    PASS(ask[what](err, &b, id));
    PASS(goh5_buf_end(&b, out));
done:
    goh5_buf_drop(&b);
    return rc;
}
