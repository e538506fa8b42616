import Foundation
package import PowerSyncProtocol

extension DatabaseInspection {
    /// The most buckets that ``json`` has; their number is told.
    static let shownBuckets = 1_000
    /// The most rows that are set aside of ``json``; their number is told.
    static let shownRows = 100

    /// The values as JSON (docs/inspect.md "The status of an app"), those that are `nil` left out.
    package var json: JSONObject {
        var object: JSONObject = [
            "date": .time(date), "isConnected": .bool(isConnected),
            "waits": .object(activity.json),
            "queue": [
                "writes": .integer(Int64(queue.writes)), "transactions": .integer(Int64(queue.transactions)),
                "bytes": .integer(queue.bytes), "rejectedWrites": .integer(Int64(queue.rejectedWrites)),
            ],
            "bucketCount": .integer(Int64(buckets.count)),
            "buckets": .array(buckets.prefix(Self.shownBuckets).map(\.json)),
            "streams": .array(streams.map(\.json)),
            "setAsideRowCount": .integer(Int64(setAsideRows.count)),
            "setAsideRows": .array(
                setAsideRows.prefix(Self.shownRows).map { row in
                    ["table": .string(row.table), "id": .string(row.id), "reason": .string(row.reason)]
                }
            ),
        ]
        object["lastSyncedAt"] = lastSyncedAt.map { .time($0) }
        object["downloadError"] = downloadError.map { .string($0.lineOfText) }
        object["uploadError"] = uploadError.map { .string($0.lineOfText) }
        return object
    }
}

extension ConnectionActivity {
    fileprivate var json: JSONObject {
        var object: JSONObject = [:]
        object["mode"] = mode.map { .string("\($0)") }
        object["download"] = download?.json
        object["upload"] = upload?.json
        if hasWritesOfAnotherUser { object["hasWritesOfAnotherUser"] = true }
        return object
    }
}

extension SyncWait {
    fileprivate var json: ExactJSON { ["for": .string("\(reason)"), "since": .time(since)] }
}

extension DatabaseInspection.Bucket {
    fileprivate var json: ExactJSON {
        var object: JSONObject = ["name": .string(name)]
        object["priority"] = priority.map { .integer(Int64($0.priorityCode)) }
        object["downloadedOperations"] = .integer(downloadedOperations)
        object["downloadedBytes"] = .integer(downloadedBytes)
        object["operationsToDownload"] = operationsToDownload.map { .integer($0) }
        object["operationsOfDownload"] = operationsOfDownload.map { .integer($0) }
        object["isShown"] = .bool(isShown)
        return .object(object)
    }
}

extension SyncStreamStatus {
    fileprivate var json: ExactJSON {
        var object: JSONObject = ["name": .string(subscription.name)]
        object["parameters"] = subscription.parameters.map { .object(JSONObject($0)) }
        object["isActive"] = .bool(subscription.active)
        object["isDefault"] = .bool(subscription.isDefault)
        object["isSubscribed"] = .bool(subscription.hasExplicitSubscription)
        object["expiresAt"] = subscription.expiresAt.map { .time(Date(timeIntervalSince1970: $0)) }
        object["lastSyncedAt"] = subscription.lastSyncedAt.map { .time(Date(timeIntervalSince1970: $0)) }
        if subscription.unknownStream != nil { object["isUnknown"] = true }
        if subscription.isLeftOut { object["isLeftOut"] = true }
        if let progress {
            object["operationsToDownload"] = .integer(Int64(progress.totalOperations))
            object["operationsOfDownload"] = .integer(Int64(progress.downloadedOperations))
        }
        return .object(object)
    }
}

extension ExactJSON {
    /// A time as `2026-11-22T18:44:46.123Z`.
    fileprivate static func time(_ date: Date) -> ExactJSON {
        .string(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }
}
