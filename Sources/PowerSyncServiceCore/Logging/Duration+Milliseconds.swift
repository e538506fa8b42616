extension Duration {
    /// The duration in milliseconds, to three decimals: the value of ``LogKey/duration`` and its like.
    package var loggedMilliseconds: Double { (self / .microseconds(1)).rounded() / 1000 }
}
