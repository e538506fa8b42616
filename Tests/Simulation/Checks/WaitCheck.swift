/// Whether the status of a device says why it does not go on.
///
/// A status may be silent for a moment, between two reasons and just after a write. So a device that has something to do and gives no
/// reason is looked at again and again; when that does not change for ``limit``, it waits without a reason.
struct WaitCheck {
    /// What a device says at one moment, and what it has to do.
    struct Look {
        /// Nanoseconds of the simulation.
        var time: UInt64
        /// The process of the app.
        var process: Int
        /// Whether the app has asked for a connection.
        var wantsConnection: Bool
        /// Whether the status has one: its mode.
        var hasConnection: Bool
        var isConnected: Bool
        /// Whether the status says what the download waits for.
        var explainsDownload: Bool
        /// Whether the status says what the upload waits for.
        var explainsUpload: Bool
        /// The first write of the upload queue; `nil` when it is empty.
        var firstWrite: Int?
    }

    /// What is not explained, and since when.
    private struct Unexplained: Equatable {
        enum Kind: Equatable {
            /// The app has asked for a connection, of which the status knows nothing.
            case connection
            /// The status says that it is not connected, and not why.
            case download
            /// This write waits for its upload.
            case upload(firstWrite: Int)
        }

        var kind: Kind
        var process: Int
    }

    /// How long a status may be silent, in nanoseconds: four times as long as a write may wait for others to be uploaded with it.
    static let limit: UInt64 = 4_000_000_000

    private var unexplained: (what: Unexplained, since: UInt64)?

    /// Whether the device is to be looked at again soon.
    var isDoubtful: Bool { unexplained != nil }

    /// Judges a look.
    ///
    /// - Returns: What the device waits for without a reason; `nil` while it does not.
    mutating func judge(_ look: Look) -> String? {
        guard let what = Self.unexplained(look) else {
            unexplained = nil
            return nil
        }
        guard let former = unexplained, former.what == what else {
            unexplained = (what, look.time)
            return nil
        }
        guard look.time - former.since > Self.limit else { return nil }
        let since = "since \(Timeline.clock(former.since))"
        return switch what.kind {
        case .connection: "it was to connect, and its status has no connection, \(since)"
        case .download: "its status says that it is not connected, and not why, \(since)"
        case .upload(let write): "write \(write) of its queue waits, and its status does not say why, \(since)"
        }
    }

    private static func unexplained(_ look: Look) -> Unexplained? {
        func make(_ kind: Unexplained.Kind) -> Unexplained { Unexplained(kind: kind, process: look.process) }
        if !look.hasConnection { return look.wantsConnection ? make(.connection) : nil }
        if !look.isConnected, !look.explainsDownload { return make(.download) }
        if let write = look.firstWrite, !look.explainsUpload { return make(.upload(firstWrite: write)) }
        return nil
    }
}
