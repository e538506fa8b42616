import Foundation
import PowerSyncClient

/// What the next attempt must know to continue a download; stored beside the partial file.
///
/// The record is written after the bytes it counts have been flushed: whatever the process or the system dies of, that many bytes of
/// the partial file are right. As JSON: `{"bytes":8388608,"etag":"\"a1\"","total":1073741824}`.
struct DownloadRecord: Codable, Equatable {
    /// How many bytes of the partial file are safely on the disk.
    var bytes: Int64
    /// The strong entity tag of the file at the storage.
    var etag: String?
    /// The size of the whole file.
    var total: Int64?

    /// Where the next request begins.
    ///
    /// A complete file is asked for its last byte again: a request for nothing would be refused, and the answer tells
    /// whether the file is still the same.
    var offset: Int64 {
        guard let total, bytes >= total else { return bytes }
        return max(0, total - 1)
    }
}

extension DownloadRecord {
    /// What the storage's answer to a request means for the partial file.
    enum Answer: Equatable {
        /// The body is the whole file.
        case whole(total: Int64?)
        /// The body continues the partial file at ``DownloadRecord/offset``.
        case rest(total: Int64?)
        /// The partial file is of no use: the whole file is to be asked for.
        case startOver
    }

    /// Interprets an answer.
    ///
    /// - Parameters:
    ///   - status: The HTTP status.
    ///   - header: Gives a header of the answer.
    ///   - record: What the request was to continue; `nil` when it asked for the whole file.
    /// - Returns: What it means; `nil` when it is an error.
    static func answer(
        status: Int,
        header: (String) -> String?,
        to record: DownloadRecord?
    ) -> Answer? {
        switch status {
        case 206:
            guard let record else { return nil }
            guard
                let range = header("Content-Range").flatMap(ContentRange.init),
                range.bytes.lowerBound == record.offset,
                range.total.map({ $0 == range.bytes.upperBound + 1 }) ?? true,
                record.total == nil || range.total == nil || record.total == range.total,
                record.etag == nil || header("ETag").map({ $0 == record.etag }) ?? true
            else { return .startOver }
            return .rest(total: range.total ?? record.total)
        case 200..<300:
            return .whole(total: header("Content-Length").flatMap(Int64.init(digits:)))
        case 416:
            return record == nil ? nil : .startOver
        default:
            return nil
        }
    }
}
