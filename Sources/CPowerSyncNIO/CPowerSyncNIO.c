// SwiftPM wants one source file. The function is in the Swift module PowerSyncNIO.
#include "CPowerSyncNIO.h"
