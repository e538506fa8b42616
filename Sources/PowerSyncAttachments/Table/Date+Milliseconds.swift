import Foundation
import PowerSyncClient

extension Date {
    /// The time as attachments tables have it; the nearest one that they can hold.
    var millisecondsSince1970: Int64 {
        Int64(saturating: timeIntervalSince1970 * 1000)
    }
}
