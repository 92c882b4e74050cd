/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of the library name each other without the folder in which the system has them. */
#include <webrtc_audio_processing/webrtc/typedefs.h>
