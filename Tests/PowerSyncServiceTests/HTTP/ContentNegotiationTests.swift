import PowerSyncProtocol
import Testing

@testable import PowerSyncService

/// Which format an `Accept` header gets (docs/protocol.md "Formats").
@Suite struct ContentNegotiationTests {
    private static let bson = "application/vnd.powersync.bson-stream"
    private static let ndjson = "application/x-ndjson"

    @Test(
        arguments: [
            (nil, .ndjson), ("*/*", .ndjson), ("application/*", .ndjson), ("text/html", .ndjson),
            ("application/json", .ndjson), (ndjson, .ndjson), (bson, .bson), ("\(bson);q=0.9,\(ndjson);q=0.8", .bson),
            ("\(bson);q=0.5, */*", .ndjson), ("\(ndjson), \(bson)", .ndjson), ("\(bson), \(ndjson)", .bson),
            ("\(bson);q=0", .ndjson), ("\(bson);q=0, */*", .ndjson), ("\(ndjson);q=0, */*", .bson),
            ("Application/Vnd.PowerSync.BSON-Stream", .bson), ("\(bson), application/*", .bson), ("", .ndjson),
            (";;,,/", .ndjson), ("\(bson);q=x", .ndjson), ("\(bson) ; Q=0.9 , \(ndjson) ; q=0.1", .bson),
        ] as [(String?, SyncLineFormat)]
    )
    func acceptHeadersSelectTheFormat(_ accept: String?, _ format: SyncLineFormat) {
        #expect(ContentNegotiation.format(accept: accept) == format)
    }
}
