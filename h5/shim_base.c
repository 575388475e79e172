/* shim_base.c: closing ids without errors, and kinds of object. */
#include "shim_internal.h"

void goh5_close_space(hid_t id)
{
    /* H5S_ALL, H5S_BLOCK and H5S_PLIST are small numbers and must not be closed */
    if (id > H5S_PLIST) {
        H5Sclose(id);
    }
}

void goh5_close_type(hid_t id)
{
    if (id >= 0) {
        H5Tclose(id);
    }
}

void goh5_close_plist(hid_t id)
{
    /* H5P_DEFAULT is 0 and must not be closed */
    if (id > 0) {
        H5Pclose(id);
    }
}

void goh5_close_group(hid_t id)
{
    if (id >= 0) {
        H5Gclose(id);
    }
}

/* Kinds of object. They must match object.go. */
enum { KIND_GROUP = 1, KIND_DATASET = 2, KIND_TYPE = 3, KIND_OTHER = 4 };

uint64_t goh5_object_kind(H5O_type_t type)
{
    switch (type) {
    case H5O_TYPE_GROUP:
        return KIND_GROUP;
    case H5O_TYPE_DATASET:
        return KIND_DATASET;
    case H5O_TYPE_NAMED_DATATYPE:
        return KIND_TYPE;
    default:
        return KIND_OTHER;
    }
}
