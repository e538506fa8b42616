import Logging
import PowerSync

/// What a client logs, for the timeline.
struct ClientLog: LoggerProtocol {
    let name: String
    let world: World

    private var timeline: Timeline { world.timeline }

    func info(_ message: String, tag: String?) { timeline.log(name, message) }
    func error(_ message: String, tag: String?) { timeline.log(name, "error: \(message)") }
    func debug(_ message: String, tag: String?) {}
    func warning(_ message: String, tag: String?) {
        timeline.log(name, "warning: \(message)")
        // The client helps itself, so that nothing else would tell of what was sent wrong.
        if message.hasPrefix("Checksums of buckets do not match") { world.fail("\(name): \(message)") }
    }
    func fault(_ message: String, tag: String?) { timeline.log(name, "fault: \(message)") }
}

/// What the service logs, for the timeline.
struct ServiceLog: LogHandler {
    let name: String
    let timeline: Timeline
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.notice

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        timeline.log(name, "\(event.level): \(event.message)\(values.map { " \($0.key)=\($0.value)" }.joined())")
    }
}
