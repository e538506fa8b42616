import NIOConcurrencyHelpers

extension StorageServer {
    /// Holds responses in their middle until a test lets them go on.
    package final class Gate: Sendable {
        /// What goes on when the gate opens; `nil` when it is open.
        private let waiting = NIOLockedValueBox<[@Sendable () -> Void]?>([])

        /// Creates a gate that is closed.
        package init() {}

        /// Lets everything go on, and what comes later as well.
        package func open() {
            let bodies = waiting.withLockedValue { waiting -> [@Sendable () -> Void] in
                defer { waiting = nil }
                return waiting ?? []
            }
            for body in bodies { body() }
        }

        /// Calls a body when the gate is open.
        func whenOpen(_ body: @escaping @Sendable () -> Void) {
            let isOpen = waiting.withLockedValue { waiting -> Bool in
                waiting?.append(body)
                return waiting == nil
            }
            if isOpen { body() }
        }
    }
}
