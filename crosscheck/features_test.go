package crosscheck

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVectors_hdf5Features checks that the HDF5 vectors contain every class of datatype and
// layout, every index, filter, link, attribute storage, and version of superblock and object
// header. This includes versions that libhdf5 reads but no longer writes.
func TestVectors_hdf5Features(t *testing.T) {
	_, m := Corpus(t)
	var held map[string]int
	for _, c := range m.Coverage {
		if c.Area == "hdf5" {
			held = c.Features
		}
	}
	const classes = "integer float time string bitfield opaque compound reference enum variable-length"
	for in, values := range map[string]string{
		"superblock: version ": "0 1 2 3", "superblock: size of offsets ": "4 8 16", "superblock: size of lengths ": "4 8", "object header: version ": "1 2",
		"message datatype: class and version version 1, ": classes,
		"message datatype: class and version version 2, ": classes + " array",
		"message datatype: class and version version 3, ": classes + " array",
		"message datatype: class and version version 4, ": classes + " array",
		"message dataspace: version ":                     "1 2", "message dataspace: type ": "0 1 2",
		"message data layout: version ":              "1 2 3 4",
		"message data layout: layout class ":         "compact contiguous chunked virtual",
		"message data layout: chunk indexing type ":  "single_chunk implicit fixed_array extensible_array version_2_B-tree",
		"v1 B-tree node: node type ":                 "0 1",
		"filter: filter identification value ":       "deflate shuffle fletcher32 szip nbit scaleoffset bzip2 lzf blosc lz4 bitshuffle zstd blosc2",
		"message filter pipeline: version ":          "1 2",
		"message fill value: version ":               "1 2 3",
		"message fill value: space allocation time ": "1 2 3",
		"link: link type ":                           "1 64 177",
		"message ": "link link_info group_info symbol_table attribute attribute_info fill_value_(old) external_data_files B-tree_K_values file_space_info " +
			"shared_message_table object_reference_count object_header_continuation NIL object_comment object_modification_time object_modification_time_(old) driver_info",
		"message attribute: version ": "1 2 3", "attribute: version ": "3",
		"v2 B-tree header: type ": "links_by_name links_by_creation_order attributes_by_name attributes_by_creation_order chunks_with_filters chunks_without_filters shared_messages indirectly_accessed,_non-filtered_huge_objects",
		"":                        "driver_information_block fractal_heap_header fractal_heap_direct_block fractal_heap_indirect_block global_heap_collection local_heap symbol_table_node free-space_manager_header fixed_array_data_block extensible_array_data_block extensible_array_secondary_block I/O_filter_information shared_message_record_list shared_datatype_message shared_dataspace_message shared_fill_value_message virtual_dataset_mappings",
	} {
		for _, value := range strings.Fields(values) {
			name := in + strings.ReplaceAll(value, "_", " ")
			require.Positive(t, held[name], "no vector contains %q", name)
		}
	}
}
