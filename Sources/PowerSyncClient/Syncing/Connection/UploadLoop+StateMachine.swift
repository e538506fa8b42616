extension UploadLoop {
    /// One pass over the upload queue: decides what to do with its head.
    struct Pass {
        private enum State {
            /// No call was made since the pass began or the last call failed.
            case fresh
            /// The last call succeeded with this entry at the head of the queue.
            case uploaded(head: Int64)
        }

        private var state = State.fresh

        /// What to do next.
        enum Action: Equatable {
            /// Call the app's `uploadData`, with this entry at the head.
            case upload(head: Int64)
            /// The queue is empty: obtain a write checkpoint, and be done.
            case finish
            /// The last call succeeded without removing the head of the queue: warn, and fail.
            case stall
        }

        /// The head of the queue was read.
        ///
        /// - Parameter head: The id of the oldest entry; `nil` when the queue is empty.
        /// - Returns: What to do next.
        mutating func headRead(_ head: Int64?) -> Action {
            switch (state, head) {
            case (_, nil):
                return .finish
            case (.uploaded(let previous), let head?) where previous == head:
                return .stall
            case (.fresh, let head?), (.uploaded, let head?):
                state = .uploaded(head: head)
                return .upload(head: head)
            }
        }

        /// Something went wrong.
        ///
        /// The next call for the same entry is a retry and not a sign of a forgotten `complete()`.
        mutating func failed() {
            state = .fresh
        }
    }
}
