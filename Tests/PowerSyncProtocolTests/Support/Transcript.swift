/// Complete response bodies in NDJSON; `Tests/Fixtures/Transcripts/README.md` says what they are.
enum Transcript: String, CaseIterable {
    /// Initial sync with two priorities.
    case initialSync = "A"
    /// Update and write checkpoint.
    case updateAndWriteCheckpoint = "B"
    /// Write checkpoint only.
    case writeCheckpointOnly = "C"
    /// Bucket removed.
    case bucketRemoved = "D"
    /// Chunked bucket with a keepalive in between.
    case chunkedBucket = "E"
    /// Checkpoint invalidated by compaction.
    case invalidatedByCompaction = "F"
    /// Reconnect, nothing new.
    case nothingNew = "G"
    /// Checksum mismatch.
    case checksumMismatch = "H"
    /// Stream errors.
    case streamErrors = "J"
    /// Interrupted low priority.
    case interruptedLowPriority = "Q"

    /// The lines, without line feeds.
    var lines: [String] {
        body.split(separator: "\n").map(String.init)
    }

    /// The text, each line with its line feed.
    var ndjson: String { body + "\n" }

    private var body: String {
        switch self {
        case .initialSync:
            #"""
            {"checkpoint":{"last_op_id":"5","buckets":[{"bucket":"1#lists|0[\"u1\"]","count":2,"checksum":-969191036,"priority":1,"subscriptions":[{"default":0}]},{"bucket":"1#todos|0[\"l1\"]","count":3,"checksum":-1422253262,"priority":3,"subscriptions":[{"sub":0}]}],"streams":[{"name":"lists","is_default":true,"errors":[]},{"name":"todos","is_default":false,"errors":[]}]}}
            {"data":{"bucket":"1#lists|0[\"u1\"]","after":"0","has_more":false,"data":[{"op_id":"1","op":"PUT","object_type":"lists","object_id":"l1","checksum":455782866,"subkey":"s-l1","data":"{\"id\":\"l1\",\"name\":\"Groceries\"}"},{"op_id":"2","op":"PUT","object_type":"lists","object_id":"l2","checksum":2869993394,"subkey":"s-l2","data":"{\"id\":\"l2\",\"name\":\"Work\"}"}],"next_after":"2"}}
            {"partial_checkpoint_complete":{"last_op_id":"5","priority":1}}
            {"data":{"bucket":"1#todos|0[\"l1\"]","after":"0","has_more":false,"data":[{"op_id":"3","op":"PUT","object_type":"todos","object_id":"t1","checksum":544833942,"subkey":"s-t1","data":"{\"id\":\"t1\",\"list_id\":\"l1\",\"title\":\"Milk\",\"done\":0}"},{"op_id":"4","op":"PUT","object_type":"todos","object_id":"t2","checksum":4169467358,"subkey":"s-t2","data":"{\"id\":\"t2\",\"list_id\":\"l1\",\"title\":\"Bread \\\"rye\\\"\",\"done\":0}"},{"op_id":"5","op":"REMOVE","object_type":"todos","object_id":"t1","checksum":2453380030,"subkey":"s-t1","data":null}],"next_after":"5"}}
            {"checkpoint_complete":{"last_op_id":"5"}}
            """#
        case .updateAndWriteCheckpoint:
            #"""
            {"checkpoint_diff":{"last_op_id":"6","write_checkpoint":"1","removed_buckets":[],"updated_buckets":[{"bucket":"1#lists|0[\"u1\"]","count":3,"checksum":-2116434347,"priority":1,"subscriptions":[{"default":0}]}]}}
            {"data":{"bucket":"1#lists|0[\"u1\"]","after":"2","has_more":false,"data":[{"op_id":"6","op":"PUT","object_type":"lists","object_id":"l1","checksum":3147723985,"subkey":"s-l1","data":"{\"id\":\"l1\",\"name\":\"Groceries (weekly)\"}"}],"next_after":"6"}}
            {"checkpoint_complete":{"last_op_id":"6"}}
            """#
        case .writeCheckpointOnly:
            #"""
            {"checkpoint_diff":{"last_op_id":"6","write_checkpoint":"2","removed_buckets":[],"updated_buckets":[]}}
            {"checkpoint_complete":{"last_op_id":"6"}}
            """#
        case .bucketRemoved:
            #"""
            {"checkpoint_diff":{"last_op_id":"7","write_checkpoint":"2","removed_buckets":["1#todos|0[\"l1\"]"],"updated_buckets":[]}}
            {"checkpoint_complete":{"last_op_id":"7"}}
            """#
        case .chunkedBucket:
            #"""
            {"checkpoint":{"last_op_id":"5","buckets":[{"bucket":"1#todos|0[\"l1\"]","count":3,"checksum":-1422253262,"priority":3,"subscriptions":[{"sub":0}]}],"streams":[{"name":"todos","is_default":false,"errors":[]}]}}
            {"data":{"bucket":"1#todos|0[\"l1\"]","after":"0","has_more":true,"data":[{"op_id":"3","op":"PUT","object_type":"todos","object_id":"t1","checksum":544833942,"subkey":"s-t1","data":"{\"id\":\"t1\",\"list_id\":\"l1\",\"title\":\"Milk\",\"done\":0}"},{"op_id":"4","op":"PUT","object_type":"todos","object_id":"t2","checksum":4169467358,"subkey":"s-t2","data":"{\"id\":\"t2\",\"list_id\":\"l1\",\"title\":\"Bread \\\"rye\\\"\",\"done\":0}"}],"next_after":"4"}}
            {"token_expires_in":3580}
            {"data":{"bucket":"1#todos|0[\"l1\"]","after":"4","has_more":false,"data":[{"op_id":"5","op":"REMOVE","object_type":"todos","object_id":"t1","checksum":2453380030,"subkey":"s-t1","data":null}],"next_after":"5"}}
            {"checkpoint_complete":{"last_op_id":"5"}}
            """#
        case .invalidatedByCompaction:
            #"""
            {"checkpoint":{"last_op_id":"2","buckets":[{"bucket":"1#notes|0[]","count":2,"checksum":-117348751,"priority":3,"subscriptions":[{"default":0}]}],"streams":[{"name":"notes","is_default":true,"errors":[]}]}}
            {"data":{"bucket":"1#notes|0[]","after":"0","has_more":false,"data":[{"op_id":"2","op":"CLEAR","checksum":-117348751}],"next_after":"2"}}
            {"checkpoint_diff":{"last_op_id":"4","removed_buckets":[],"updated_buckets":[{"bucket":"1#notes|0[]","count":4,"checksum":1857625027,"priority":3,"subscriptions":[{"default":0}]}]}}
            {"data":{"bucket":"1#notes|0[]","after":"2","has_more":false,"data":[{"op_id":"3","op":"PUT","object_type":"notes","object_id":"n1","checksum":3051375582,"subkey":"s-n1","data":"{\"id\":\"n1\",\"body\":\"v2\"}"},{"op_id":"4","op":"PUT","object_type":"notes","object_id":"n2","checksum":3218565492,"subkey":"s-n2","data":"{\"id\":\"n2\",\"body\":\"v2\"}"}],"next_after":"4"}}
            {"checkpoint_complete":{"last_op_id":"4"}}
            """#
        case .nothingNew:
            #"""
            {"checkpoint":{"last_op_id":"5","buckets":[{"bucket":"1#lists|0[\"u1\"]","count":2,"checksum":-969191036,"priority":1,"subscriptions":[{"default":0}]},{"bucket":"1#todos|0[\"l1\"]","count":3,"checksum":-1422253262,"priority":3,"subscriptions":[{"sub":0}]}],"streams":[{"name":"lists","is_default":true,"errors":[]},{"name":"todos","is_default":false,"errors":[]}]}}
            {"partial_checkpoint_complete":{"last_op_id":"5","priority":1}}
            {"checkpoint_complete":{"last_op_id":"5"}}
            """#
        case .checksumMismatch:
            #"""
            {"checkpoint":{"last_op_id":"5","buckets":[{"bucket":"1#todos|0[\"l1\"]","count":3,"checksum":-1422253261,"priority":3,"subscriptions":[{"sub":0}]}],"streams":[{"name":"todos","is_default":false,"errors":[]}]}}
            {"data":{"bucket":"1#todos|0[\"l1\"]","after":"0","has_more":true,"data":[{"op_id":"3","op":"PUT","object_type":"todos","object_id":"t1","checksum":544833942,"subkey":"s-t1","data":"{\"id\":\"t1\",\"list_id\":\"l1\",\"title\":\"Milk\",\"done\":0}"},{"op_id":"4","op":"PUT","object_type":"todos","object_id":"t2","checksum":4169467358,"subkey":"s-t2","data":"{\"id\":\"t2\",\"list_id\":\"l1\",\"title\":\"Bread \\\"rye\\\"\",\"done\":0}"}],"next_after":"4"}}
            {"token_expires_in":3580}
            {"data":{"bucket":"1#todos|0[\"l1\"]","after":"4","has_more":false,"data":[{"op_id":"5","op":"REMOVE","object_type":"todos","object_id":"t1","checksum":2453380030,"subkey":"s-t1","data":null}],"next_after":"5"}}
            {"checkpoint_complete":{"last_op_id":"5"}}
            """#
        case .streamErrors:
            #"""
            {"checkpoint":{"last_op_id":"5","buckets":[{"bucket":"1#lists|0[\"u1\"]","count":2,"checksum":-969191036,"priority":1,"subscriptions":[{"default":0}]}],"streams":[{"name":"lists","is_default":true,"errors":[]},{"name":"todos","is_default":false,"errors":[{"subscription":0,"message":"Error evaluating bucket ids: list_id must be a JSON array"}]}]}}
            {"checkpoint_complete":{"last_op_id":"5"}}
            """#
        case .interruptedLowPriority:
            #"""
            {"checkpoint":{"last_op_id":"5","buckets":[{"bucket":"1#lists|0[\"u1\"]","count":2,"checksum":-969191036,"priority":1,"subscriptions":[{"default":0}]},{"bucket":"1#todos|0[\"l1\"]","count":3,"checksum":-1422253262,"priority":3,"subscriptions":[{"sub":0}]}],"streams":[{"name":"lists","is_default":true,"errors":[]},{"name":"todos","is_default":false,"errors":[]}]}}
            {"data":{"bucket":"1#lists|0[\"u1\"]","after":"0","has_more":false,"data":[{"op_id":"1","op":"PUT","object_type":"lists","object_id":"l1","checksum":455782866,"subkey":"s-l1","data":"{\"id\":\"l1\",\"name\":\"Groceries\"}"},{"op_id":"2","op":"PUT","object_type":"lists","object_id":"l2","checksum":2869993394,"subkey":"s-l2","data":"{\"id\":\"l2\",\"name\":\"Work\"}"}],"next_after":"2"}}
            {"partial_checkpoint_complete":{"last_op_id":"5","priority":1}}
            {"data":{"bucket":"1#todos|0[\"l1\"]","after":"0","has_more":true,"data":[{"op_id":"3","op":"PUT","object_type":"todos","object_id":"t1","checksum":544833942,"subkey":"s-t1","data":"{\"id\":\"t1\",\"list_id\":\"l1\",\"title\":\"Milk\",\"done\":0}"}],"next_after":"3"}}
            {"checkpoint_diff":{"last_op_id":"6","removed_buckets":[],"updated_buckets":[{"bucket":"1#lists|0[\"u1\"]","count":3,"checksum":-2116434347,"priority":1,"subscriptions":[{"default":0}]}]}}
            {"data":{"bucket":"1#lists|0[\"u1\"]","after":"2","has_more":false,"data":[{"op_id":"6","op":"PUT","object_type":"lists","object_id":"l1","checksum":3147723985,"subkey":"s-l1","data":"{\"id\":\"l1\",\"name\":\"Groceries (weekly)\"}"}],"next_after":"6"}}
            {"partial_checkpoint_complete":{"last_op_id":"6","priority":1}}
            {"data":{"bucket":"1#todos|0[\"l1\"]","after":"3","has_more":false,"data":[{"op_id":"4","op":"PUT","object_type":"todos","object_id":"t2","checksum":4169467358,"subkey":"s-t2","data":"{\"id\":\"t2\",\"list_id\":\"l1\",\"title\":\"Bread \\\"rye\\\"\",\"done\":0}"},{"op_id":"5","op":"REMOVE","object_type":"todos","object_id":"t1","checksum":2453380030,"subkey":"s-t1","data":null}],"next_after":"5"}}
            {"checkpoint_complete":{"last_op_id":"6"}}
            """#
        }
    }
}
