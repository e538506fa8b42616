import Observation

/// Follows what Observation tells.
@MainActor
enum Observed {
    /// Values of something, now and after each change, until one is the right one.
    static func first<Value>(_ value: () -> Value, where isRight: (Value) -> Bool) async -> Value {
        while true {
            // Observation tells before the change; the stream is read after it, when the main actor is free again.
            let (changes, continuation) = AsyncStream<Void>.makeStream()
            let now = withObservationTracking(value) { continuation.finish() }
            if isRight(now) { return now }
            for await _ in changes {}
            if Task.isCancelled { return now }
        }
    }
}
