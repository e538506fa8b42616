// The system's zstd, for compressed transactions in MySQL's log.
#pragma once
#include <zstd.h>
