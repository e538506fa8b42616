/// An error after which trying again soon is in vain, or does harm.
package protocol PausingError: Error {
    /// How long to wait before the next attempt; `nil` for as long as after other errors.
    var pause: Duration? { get }
}
