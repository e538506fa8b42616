/// A file that a command needs and cannot read: the command itself is right, so it exits with 1, and without its usage.
package struct UnreadableFile: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
