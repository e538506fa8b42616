import NIOConcurrencyHelpers

extension AsyncThrowingStream where Element: Sendable, Failure == any Error {
    /// The elements that a step makes of the elements of this stream and what it remembers of earlier ones.
    ///
    /// Each element is asked for when the consumer asks for one, so nothing is buffered here and no task is needed. The
    /// step runs outside any actor.
    ///
    /// - Parameters:
    ///   - initial: What the step remembers at first.
    ///   - step: Makes an element; `nil` skips one.
    /// - Returns: A stream for one consumer.
    package func scan<State: Sendable, Output>(
        _ initial: State,
        _ step: @escaping @Sendable (inout State, Element) -> Output?
    ) -> AsyncThrowingStream<Output, any Error> {
        let state = NIOLockedValueBox(initial)
        return AsyncThrowingStream<Output, any Error> {
            // Iterators of one stream share its buffer.
            var elements = self.makeAsyncIterator()
            while let element = try await elements.next() {
                if let output = state.withLockedValue({ step(&$0, element) }) { return output }
            }
            return nil
        }
    }
}

extension AsyncThrowingStream where Failure == any Error {
    /// The first row of each result, `nil` for a result without rows.
    func firstRows<Row: Sendable>() -> AsyncThrowingStream<Row?, any Error> where Element == [Row] {
        scan(()) { _, rows in .some(rows.first) }
    }
}
