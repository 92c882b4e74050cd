// SPDX-License-Identifier: Apache-2.0
//
// libopus, and its variadic control function for one whole number, which Swift cannot call.
#ifndef COPUS_SHIM_H
#define COPUS_SHIM_H
#include <opus/opus.h>

static inline int copus_encoder_set(OpusEncoder *encoder, int request, opus_int32 value) {
    return opus_encoder_ctl(encoder, request, value);
}
static inline void copus_encoder_reset(OpusEncoder *encoder) { opus_encoder_ctl(encoder, OPUS_RESET_STATE); }
static inline void copus_decoder_reset(OpusDecoder *decoder) { opus_decoder_ctl(decoder, OPUS_RESET_STATE); }
#endif
