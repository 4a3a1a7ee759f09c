// Stands in for the audio decoder that Ollama's sources include and that their
// module leaves out (a module's archive carries no directory called vendor).
//
// It declares what the one including file calls and decodes nothing: every
// sound is refused. The server that is built with it serves text, which is
// all that the test asks of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef uint64_t ma_uint64;
typedef enum { MA_SUCCESS = 0, MA_NOT_IMPLEMENTED = -29 } ma_result;
typedef enum { ma_format_f32 = 5 } ma_format;
typedef struct { ma_format format; } ma_decoder_config;
typedef struct { ma_format format; } ma_decoder;

static inline ma_decoder_config ma_decoder_config_init(ma_format format, uint32_t, uint32_t) { return {format}; }

static inline ma_result ma_decoder_init_memory(const void *, size_t, const ma_decoder_config *, ma_decoder *) {
	return MA_NOT_IMPLEMENTED;
}

static inline ma_result ma_decoder_get_length_in_pcm_frames(ma_decoder *, ma_uint64 *) { return MA_NOT_IMPLEMENTED; }

static inline ma_result ma_decoder_read_pcm_frames(ma_decoder *, void *, ma_uint64, ma_uint64 *) {
	return MA_NOT_IMPLEMENTED;
}

static inline ma_result ma_decoder_uninit(ma_decoder *) { return MA_SUCCESS; }
