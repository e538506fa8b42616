// The system's zlib, for compressed WebSocket messages.
#pragma once
#include <zlib.h>
