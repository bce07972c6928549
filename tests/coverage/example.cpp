// Counted by gcov: the test knows which of these lines run.
template <class T>
T larger(T a, T b) {
  if (a > b) {
    return a;
  }
  return b;
}

int never(int x) {
  return x + 1;
}

int main(int argc, char **) {
  const int a = larger(argc, 0);
  const long b = larger(0L, long(argc));
  return a + b == 2 ? 0 : never(argc);
}
